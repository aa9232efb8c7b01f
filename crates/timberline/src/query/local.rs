pub(super) fn ask(
    _: &std::path::Path,
    _: Option<&String>,
    _: &super::Question,
) -> Result<super::answer::Answer, crate::Failure> {
    Err(crate::Failure::failed(anyhow::anyhow!("no")))
}
