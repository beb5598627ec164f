/* Trains LeNet on the batches of a file for one epoch. Prints each loss, bit by bit, whether it overflowed, and the scale. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lenet.h"

int main(int count, char **arguments)
{
    static struct { float x[32 * 1 * 32 * 32]; int32_t labels[32]; } batch;
    lenet *step;
    int status = lenet_create(&step, count > 3 ? arguments[3] : NULL);
    FILE *file = fopen(arguments[1], "rb");

    while (!status && fread(&batch, sizeof batch, 1, file) == 1) {
        float loss, scale;
        uint8_t overflow;
        uint32_t bits;
        status = lenet_run(step, batch.x, batch.labels, &loss, &overflow, &scale);
        memcpy(&bits, &loss, 4);
        printf("%08" PRIx32 " %d %g\n", bits, overflow, scale);
    }
    if (!status)
        status = lenet_save(step, arguments[2]);
    if (status)
        fprintf(stderr, "%s\n", lenet_error(status));
    lenet_destroy(step);
    fclose(file);
    return status;
}
