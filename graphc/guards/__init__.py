"""What tracing a Cell may read besides its inputs: found, compared, and watched between calls."""
