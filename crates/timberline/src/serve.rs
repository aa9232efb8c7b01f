pub(crate) fn command() -> clap::Command {
    crate::config::add_flags(clap::Command::new("serve"))
}
pub(crate) fn run(_: &clap::ArgMatches) -> Result<std::process::ExitCode, crate::Failure> {
    Ok(std::process::ExitCode::SUCCESS)
}
