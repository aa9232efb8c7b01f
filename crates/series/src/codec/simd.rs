//! The one place where code is compiled for more than the least processor of its kind.

/// Runs a function, compiled with AVX2 where the processor has it. The function and what it calls must be inlined for that to help, and
/// be loops that the compiler turns to vectors. Twice as wide ones halve the time of divisions above all: decimals are decoded in 1.0
/// instead of 1.4 ns a value (`cargo bench -p timberline-series --bench codec`). Encoding and searching gain nothing.
#[inline(always)]
pub(crate) fn widest<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has it.
        return unsafe { with_avx2(f) };
    }
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}
