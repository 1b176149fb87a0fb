//! What the module exports, and what it does where a program would print and end.
//!
//! Numbers are places and lengths in the module's memory. There is one thread, and one question at a time.

// Names that are exported, and places that are shared with the outside.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::panic;
use std::ptr::addr_of_mut;
use std::str;

use crate::answered;
use crate::fault::Fault;

thread_local! {
    static ASKED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static REPLY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

static mut FAULT: Fault = Fault::none();

fn say(what: std::fmt::Arguments<'_>) {
    // SAFETY: there is one thread, and nobody keeps a reference.
    unsafe { (*addr_of_mut!(FAULT)).say(what) }
}

/// The system's memory; says so where there is no more of it.
struct Bounded;

// SAFETY: everything is done by the system's allocator.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what holds of the caller's layout holds here.
        noted(unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: it came from the system.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: it came from the system.
        noted(unsafe { System.realloc(place, layout, size) })
    }
}

fn noted(place: *mut u8) -> *mut u8 {
    if place.is_null() {
        say(format_args!("memory"));
    }
    place
}

#[global_allocator]
static MEMORY: Bounded = Bounded;

/// Room for a question of so many bytes: an address, then the question.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    ASKED.with_borrow_mut(|asked| {
        asked.clear();
        asked.resize(length, 0);
        asked.as_mut_ptr()
    })
}

/// Answers what stands in the room: the first bytes, `address` of them, are where it is asked. Returns the
/// status, as in HTTP.
#[unsafe(no_mangle)]
pub extern "C" fn ask(address: usize) -> u32 {
    panic::set_hook(Box::new(|defect| say(format_args!("a defect of unspent: {defect}"))));
    let asked = ASKED.take();
    REPLY.take();
    let (address, body) = asked.split_at(address.min(asked.len()));
    let reply = answered(str::from_utf8(address).unwrap_or_default(), body);
    REPLY.set([reply.kind, "\n", &reply.body].concat().into_bytes());
    u32::from(reply.status)
}

/// The reply: the type of its media, a line feed, and its text.
#[unsafe(no_mangle)]
pub extern "C" fn reply() -> *const u8 {
    REPLY.with_borrow(Vec::as_ptr)
}

/// How many bytes it has.
#[unsafe(no_mangle)]
pub extern "C" fn reply_length() -> usize {
    REPLY.with_borrow(Vec::len)
}

/// After a trap: why, as far as it is known.
#[unsafe(no_mangle)]
pub extern "C" fn fault() -> *const u8 {
    // SAFETY: there is one thread.
    unsafe { (*addr_of_mut!(FAULT)).text().as_ptr() }
}

/// How many bytes it has.
#[unsafe(no_mangle)]
pub extern "C" fn fault_length() -> usize {
    // SAFETY: there is one thread.
    unsafe { (*addr_of_mut!(FAULT)).text().len() }
}
