"""Programs with a user's own function as a kernel, made by hand."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

from graphc_codegen import CodegenError, KernelError, compile_program
from graphc_codegen.program import Buffer, Call, NamedKernel, Program, UserFunction
from tests.codegen.programs import add

N = 8
F = (("float32", (N,)),)
THREE = np.float32(3)


@numba.njit
def scaled(x, factor):
    if x[0] == 7:
        raise ValueError("seven")
    return x * factor


def custom(function, name="F", constants=(THREE,), returns=True):
    user = UserFunction(name, function, returns, constants)
    return NamedKernel("custom", (("function", user), ("inputs", F), ("outputs", F)))


def program(kernel, threads=1):
    """w = f(x + 1) + 10"""
    buffers = (
        Buffer(0, "float32", (N,), "input", 0),
        Buffer(1, "float32", (N,), "arena", 0),
        Buffer(2, "float32", (N,), "arena", 64),
        Buffer(3, "float32", (N,), "param", 0),
    )
    body = (
        Call(replace(add(N, 1.0), threads=threads), (0, 1), "n1"),
        Call(kernel, (1, 2), "n2 F", wait=threads > 1),
        Call(replace(add(N, 10.0), threads=threads), (2, 3), "n3", wait=threads > 1),
    )
    return Program("p", buffers, body, 128, threads=threads)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_it_runs_and_fails_and_runs(threads, checked):
    w, x = np.zeros(N, np.float32), np.arange(N, dtype=np.float32)
    step = compile_program(program(custom(scaled), threads), cache_dir=None, checked=checked).bind([w], [])
    step.run([x])
    np.testing.assert_array_equal(w, (x + 1) * 3 + 10)
    wrong, w[:] = x + 6, -1
    for _ in range(3):
        with pytest.raises(KernelError, match=r"the kernel of F raised ValueError: seven \(n2 F\)") as caught:
            step.run([wrong])
        assert isinstance(caught.value.__cause__, ValueError)
        assert (w == -1).all()
    step.run([x])
    np.testing.assert_array_equal(w, (x + 1) * 3 + 10)


def test_the_entry_says_that_it_has_stopped():
    """As a user's njit loop sees it, which calls the entry itself: the next call begins anew."""
    from graphc_codegen.object_code.numba_step import ENTRY

    w, x = np.zeros(N, np.float32), np.arange(N, dtype=np.float32)
    made = compile_program(program(custom(scaled)), cache_dir=None)
    step = made.bind([w], [])
    step.run([x])
    entry = made._loaded.function(ENTRY)
    assert entry(step.context) == 0
    x[0] = 6
    assert [entry(step.context), entry(step.context)] == [1, 1]
    x[0] = 5
    assert entry(step.context) == 0


def test_a_failure_that_does_not_come_again():
    state = np.zeros(1, np.int64)
    address = state.ctypes.data

    @numba.njit
    def once(x, where):
        seen = numba.carray(as_pointer(where), (1,), np.int64)
        seen[0] += 1
        if seen[0] == 1:
            raise ValueError
        return x * 1

    step = compile_program(program(custom(once, constants=(address,))), cache_dir=None)
    step = step.bind([np.zeros(N, np.float32)], [])
    with pytest.raises(KernelError, match="failed, but not when it was called once more on the same arrays"):
        step.run([np.zeros(N, np.float32)])


@numba.extending.intrinsic
def as_pointer(context, number):
    """A number as an address."""
    from numba import types

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(number), generate


def test_two_functions_of_one_name_are_refused():
    def other(x, factor):
        return x

    whole = program(custom(scaled))
    mixed = replace(whole, body=(*whole.body[:2], Call(custom(numba.njit(other)), (1, 2), "n3 F")))
    for checked in (False, True):
        with pytest.raises(CodegenError, match="two functions of users have the same name"):
            compile_program(mixed, cache_dir=None, checked=checked)


def test_what_numba_has_not_jitted():
    plain = custom(scaled.py_func)
    with pytest.raises(KernelError, match="only the checked mode runs it"):
        compile_program(program(plain), cache_dir=None)
    w = np.zeros(N, np.float32)
    compile_program(program(plain), cache_dir=None, checked=True).bind([w], []).run([np.ones(N, np.float32)])
    assert (w == 16).all()


def test_whatever_numba_raises_is_the_kernels():
    @numba.extending.overload(needs_a_library)
    def missing(x):
        raise ImportError("a library is missing")

    jitted = numba.njit(lambda x, factor: needs_a_library(x))
    with pytest.raises(KernelError, match="cannot be compiled: ImportError: a library is missing"):
        compile_program(program(custom(jitted)), cache_dir=None)


def needs_a_library(x):
    """Something that Numba knows how to replace."""


def test_it_cannot_be_divided_among_threads():
    whole = program(custom(scaled), threads=2)
    body = list(whole.body)
    body[1] = replace(body[1], kernel=replace(body[1].kernel, threads=2))
    with pytest.raises(CodegenError, match="cannot run on 2 threads"):
        compile_program(replace(whole, body=tuple(body)), cache_dir=None)


def test_texts_do_not_change_from_one_process_to_the_next():
    """No address is in them, and other programs do not look for failures."""
    made = compile_program(program(custom(scaled)), cache_dir=None, checked=True)
    assert "call i32 @graphc_custom_" in made.kernels
    assert hex(id(scaled))[2:] not in made.kernels + made.source
    assert "%alive" in made.kernels
    assert "%alive" not in compile_program(program(add(N, 2.0)), cache_dir=None, checked=True).kernels
