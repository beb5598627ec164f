"""Operations on data sets: what the methods of `Dataset` make."""
