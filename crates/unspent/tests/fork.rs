//! A copy of the process has a copy of the key: it must not make the same noise.
//!
//! A program of its own: no other thread may be at work when the process is copied.
#![cfg(unix)]
#![allow(unsafe_code, reason = "fork is not in std, and a real one is what is tested")]

use unspent::sampler::{Key, Sampler};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
}

/// What `in_child` says in a copy of this process, as its exit code.
fn in_child(child: impl FnOnce() -> u8) -> i32 {
    // SAFETY: the child calls `child`, which takes no lock that another thread of this test could hold but
    // that of the allocator, which fork takes care of; and ends without running anything else.
    match unsafe { fork() } {
        0 => unsafe { _exit(child().into()) },
        process => {
            assert!(process > 0, "no fork");
            let mut status = 0;
            // SAFETY: the status is there to be written.
            assert_eq!(unsafe { waitpid(process, &mut status, 0) }, process);
            assert_eq!(status & 0x7f, 0, "the child was killed: {status:#x}");
            status >> 8 & 0xff
        }
    }
}

#[test]
fn a_copy_of_the_process_gets_no_noise_and_the_process_itself_does() {
    let key = Key::not_private(1);
    let sampler = Sampler::new(&"5".parse().unwrap()).unwrap();
    let mut noise = key.noise(&sampler);
    let expected: Vec<i64> = {
        let mut noise = Key::not_private(1).noise(&sampler);
        (0..12).map(|_| noise.sample().unwrap()).collect()
    };
    // Draws that are ready, so that none would have to be made.
    let mut found = vec![noise.sample().unwrap()];
    let taken = noise.take(1);

    let mut child = Some((taken, &mut noise));
    let refused = in_child(|| {
        let (taken, noise) = child.take().unwrap();
        let mut places = [0; 4];
        let sample = noise.sample().is_err();
        let fill = noise.fill(&mut places).is_err();
        let made = taken.fill(&mut places[..1]).is_err();
        let on_threads = noise.fill_on(2.try_into().unwrap(), &mut places).is_err();
        // A stream begun here would be the same as the next one begun there.
        let from_the_key = key.noise(&sampler).fill(&mut places).is_err();
        let untouched = places == [0; 4];
        // A key made here is the child's own.
        let mut own = [0; 64];
        let new = Key::from_os().and_then(|key| key.noise(&sampler).fill(&mut own)).is_ok();
        let all = [sample, fill, made, on_threads, from_the_key, untouched, new];
        all.iter().enumerate().map(|(bit, right)| u8::from(!right) << bit).sum()
    });
    assert_eq!(refused, 0, "bits of what went wrong: {refused:#b}");

    let (taken, noise) = child.take().unwrap();
    let mut places = [0; 1];
    taken.fill(&mut places).unwrap();
    found.extend(places);
    found.push(noise.sample().unwrap());
    let mut places = [0; 9];
    noise.fill(&mut places).unwrap();
    found.extend(places);
    assert_eq!(found, expected);
    assert!(key.noise(&sampler).sample().is_ok());
}
