//! Hides memory latency.
//!
//! A lookup in a large index is a chain of cache misses. Two remedies: request a cache line before it is needed
//! ([`prefetch`]), and keep large arrays in large pages ([`filled`]), so that address translation hits its
//! cache. Both are hints that change the time, never the result.

/// Requests the cache line that holds `slice[index]`, if this element exists.
///
/// Does nothing on platforms without a stable prefetch instruction.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    if let Some(element) = slice.get(index) {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "the intrinsic takes a raw pointer")]
        // SAFETY: a prefetch neither reads nor faults, and SSE is part of x86-64.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = element;
    }
}

/// `len` copies of `value`, in large pages if the system has them, without spare capacity.
pub fn filled<T: Copy>(len: usize, value: T) -> Vec<T> {
    let mut values = Vec::with_capacity(len);
    prefer_large_pages(values.spare_capacity_mut());
    values.resize(len, value);
    values
}

/// A smaller array contains no whole large page.
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 2 << 20;

/// Must precede the first write, because existing pages are not enlarged.
#[cfg(target_os = "linux")]
fn prefer_large_pages<T>(fresh: &mut [T]) {
    let bytes = size_of_val(fresh);
    let start = fresh.as_mut_ptr().addr();
    let skipped = start.next_multiple_of(LARGE_PAGE) - start;
    let Some(whole) = bytes.checked_sub(skipped).map(|left| left / LARGE_PAGE * LARGE_PAGE) else {
        return;
    };
    if whole == 0 {
        return;
    }
    #[expect(unsafe_code, reason = "a system call")]
    // SAFETY: the range lies inside one allocation that this function holds exclusively, starts
    // on a page boundary, and MADV_HUGEPAGE leaves its contents alone. Failure is harmless.
    unsafe {
        let aligned = fresh.as_mut_ptr().cast::<u8>().add(skipped);
        let _ = libc::madvise(aligned.cast(), whole, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn prefer_large_pages<T>(_fresh: &mut [T]) {}

#[cfg(test)]
mod tests {
    use super::{filled, prefetch};

    #[test]
    fn a_filled_array_holds_its_value_everywhere() {
        for len in [0, 1, 1000, 3_000_000] {
            let values = filled(len, 7u32);
            assert_eq!(values.len(), len);
            assert!(values.iter().all(|&value| value == 7));
        }
    }

    #[test]
    fn a_prefetch_outside_the_slice_does_nothing() {
        prefetch(&[1, 2, 3], 2);
        prefetch(&[1, 2, 3], 3);
        prefetch::<u8>(&[], usize::MAX);
    }
}
