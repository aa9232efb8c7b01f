//! A full disk: pushes are refused with 503, nothing acknowledged is lost, and pushes work again when space returns.
//!
//! The disk is a small tmpfs. Where mounting is not permitted, a limit on the size of files stands in for it.

use crate::numbered::{Writer, wait_until};
use crate::server::Server;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const DISK: &str = "size=24m";
/// A file that takes part of the disk and is deleted to make space.
const FILLER_BYTES: usize = 10 << 20;
/// Largest file where no disk can be mounted.
const FILE_LIMIT_BYTES: u64 = 4 << 20;
/// Lines in one push: about 400 KiB that hardly compress.
const LINES: u64 = 200;
const LINE_BYTES: usize = 4000;
/// More pushes than any of these disks holds.
const ENOUGH_PUSHES: u64 = 400;

#[test]
fn a_full_disk_refuses_and_recovers() {
    let place = tempfile::tempdir().unwrap();
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    match Mounted::tmpfs(&disk) {
        Ok(mounted) => on_a_small_disk(&mounted),
        Err(why) => {
            println!("full disk: mounting a tmpfs is not permitted ({why}); a limit on file sizes stands in for it");
            with_a_file_limit(&disk);
        }
    }
}

fn on_a_small_disk(disk: &Mounted) {
    let filler = disk.0.join("filler");
    std::fs::write(&filler, vec![1; FILLER_BYTES]).unwrap();
    let data = disk.0.join("data");
    // The head is larger than the disk, so that the log fills it.
    let server = Server::start(&data, &["--head-max-bytes=256MiB"]);
    let make_space = |_: &Server| std::fs::remove_file(&filler).unwrap();
    fill_and_recover(server, &data, make_space, "a tmpfs");

    // The same with a head that is cut into objects all the time: now objects and catalog meet the full disk.
    let second = disk.0.join("data-of-cuts");
    std::fs::remove_dir_all(&data).unwrap();
    std::fs::write(&filler, vec![1; FILLER_BYTES]).unwrap();
    let server = Server::start(&second, &["--head-max-bytes=1MiB"]);
    fill_and_recover(server, &second, make_space, "a tmpfs, with cuts");
}

fn with_a_file_limit(disk: &Path) {
    let data = disk.join("data");
    let server = Server::start(&data, &["--head-max-bytes=256MiB"]);
    limit_file_size(server.pid(), FILE_LIMIT_BYTES).unwrap();
    let make_space = |server: &Server| limit_file_size(server.pid(), libc::RLIM_INFINITY).unwrap();
    fill_and_recover(server, &data, make_space, "a limit on file sizes");
}

fn fill_and_recover(server: Server, data: &Path, make_space: impl Fn(&Server), what: &str) {
    let client = server.client();
    let mut writer = Writer::new("full", 0, 11, LINE_BYTES);
    let mut push = |lines| writer.push(&client, lines).unwrap();
    let mut taken = 0;
    let refusal = loop {
        match push(LINES) {
            204 => taken += 1,
            other => break other,
        }
        assert!(
            taken < ENOUGH_PUSHES,
            "{what}: {taken} pushes fitted, it never got full"
        );
    };
    assert_eq!(refusal, 503, "{what}: status of a push that does not fit");
    for _ in 0..5 {
        assert_eq!(push(LINES), 503, "{what}: pushes are refused as long as it is full");
    }
    let (ready, _) = client.get("/loki/api/v1/labels", &[]);
    assert_eq!(ready, 200, "{what}: questions are answered though it is full");

    make_space(&server);
    wait_until("pushes work again", || push(1) == 204);
    assert_eq!(push(LINES), 204, "{what}: pushes work again");
    let acknowledged = writer.acknowledged();
    assert_eq!(writer.check(&client, 0), acknowledged);
    server.kill();
    let server = Server::start(data, &[]);
    assert_eq!(writer.check(&server.client(), 0), acknowledged);
    println!(
        "full disk: {what}: full after {taken} pushes, {acknowledged} acknowledged lines all there after recovery and restart"
    );
}

/// A mounted tmpfs; unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn tmpfs(at: &Path) -> io::Result<Self> {
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", DISK, "timberline-test"])
            .arg(at)
            .output()?;
        if output.status.success() {
            return Ok(Self(at.to_owned()));
        }
        Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Sets the largest size of files that a running process may write. A process that does not ignore SIGXFSZ dies of it; the
/// server is such that it does not.
fn limit_file_size(pid: u32, bytes: u64) -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: libc::RLIM_INFINITY,
    };
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: prlimit(2) reads one rlimit that lives as long as the call; no old limit is asked for.
    let outcome = unsafe { libc::prlimit(pid, libc::RLIMIT_FSIZE, &limit, std::ptr::null_mut()) };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
