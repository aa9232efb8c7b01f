//! The samples of a series, page by page.

use super::Sample;
use super::link::{Link, Trouble};
use super::reply;
use redis::cmd;

/// Samples of a page: few enough that the server is busy with it for milliseconds only.
pub(super) const PAGE_SAMPLES: usize = 10_000;

/// Hands over the samples between two times, both inclusive, in order; each page is asked for when the one before has been taken.
/// Samples that come in meanwhile, behind what was read, are not seen.
pub(super) fn each_page(
    link: &mut Link,
    key: &[u8],
    (from, to): (i64, i64),
    mut take: impl FnMut(&[Sample]) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut next = from.max(0);
    while next <= to {
        let mut command = cmd("TS.RANGE");
        command.arg(key).arg(next).arg(to).arg("COUNT").arg(PAGE_SAMPLES);
        let page = reply::samples(&link.ask(&command)?)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        take(&page)?;
        if page.len() < PAGE_SAMPLES || *last == i64::MAX || *last < next {
            return Ok(());
        }
        next = last + 1;
    }
    Ok(())
}
