//! Memory of others, borrowed for as long as they keep it.
//!
//! Python may change what it lent while it is read, and no lock keeps it from doing so: then the table is one
//! that nobody can name, as with every reader of NumPy's arrays that works without the GIL.

#![expect(unsafe_code, reason = "slices of memory that others own")]

use std::ptr::NonNull;
use std::sync::Arc;

use unspent_data::table::Shared;

/// Numbers or bytes, and what keeps them where they are.
struct Borrowed<T, O> {
    start: NonNull<T>,
    length: usize,
    _owner: O,
}

// SAFETY: it is only read, by any thread, and its owner may be dropped by any.
unsafe impl<T: Sync, O: Send> Send for Borrowed<T, O> {}
// SAFETY: the owner cannot be reached through it.
unsafe impl<T: Sync, O> Sync for Borrowed<T, O> {}

impl<T, O> AsRef<[T]> for Borrowed<T, O> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: whoever made it promised so many values for as long as the owner lives, which is here.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

/// So many values from `start` on; copied if they do not lie as this machine wants them. Nothing if there
/// cannot be so many.
///
/// # Safety
///
/// From `start` on there are so many values, which stay there and are not written to while `owner` lives. Any
/// bits are a value of `T`. A null pointer and too many values are no reason not to ask.
pub unsafe fn borrowed<T, O>(start: *const T, length: usize, owner: O) -> Option<Shared<T>>
where
    T: Copy + Send + Sync + 'static,
    O: Send + Sync + 'static,
{
    if length == 0 {
        return Some(Arc::new(Vec::new()));
    }
    let start = NonNull::new(start.cast_mut())?;
    length.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok())?;
    if start.is_aligned() {
        return Some(Arc::new(Borrowed { start, length, _owner: owner }));
    }
    // SAFETY: they are there, and are read one by one where they lie.
    let copy: Vec<T> = (0..length).map(|i| unsafe { start.add(i).read_unaligned() }).collect();
    Some(Arc::new(copy))
}
