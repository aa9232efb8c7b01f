//! Processor time of another process.

use std::io;

/// Seconds of processor time that a process has taken so far, of all its threads, in user and kernel mode.
pub(super) fn cpu_seconds(pid: u32) -> io::Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let ticks =
        cpu_ticks(&text).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat is not as expected: {text}")))?;
    // SAFETY: sysconf reads a constant of the system.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Ok(ticks as f64 / ticks_per_second as f64)
}

/// utime and stime, the 14th and 15th field; the second one is a name in parentheses that may hold anything.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks() {
        let f = |stat: &str, want| assert_eq!(cpu_ticks(stat), want);
        f("1 (a) b) c) S 3 4 5 6 7 8 9 10 11 12 140 15 16", Some(155));
        f("1 (a) S 3", None);
        f("", None);
    }

    #[test]
    fn of_this_process() {
        assert!(cpu_seconds(std::process::id()).unwrap() >= 0.0);
        assert!(cpu_seconds(u32::MAX).is_err());
    }
}
