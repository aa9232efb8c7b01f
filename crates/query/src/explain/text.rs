//! An explanation as a page of text.

use super::{Explanation, Fact, Step};
use std::fmt;

/// Width of the names of facts.
const NAME_WIDTH: usize = 13;

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_facts(f, &self.query, 0)?;
        match &self.plan {
            None => writeln!(f, "\nnothing had to be run"),
            Some(step) => {
                writeln!(f)?;
                write_step(f, step, 0)
            }
        }
    }
}

fn write_step(f: &mut fmt::Formatter<'_>, step: &Step, depth: usize) -> fmt::Result {
    writeln!(f, "{:1$}{2}", "", 2 * depth, step.name)?;
    write_facts(f, &step.facts, depth + 1)?;
    step.inputs.iter().try_for_each(|input| write_step(f, input, depth + 1))
}

fn write_facts(f: &mut fmt::Formatter<'_>, facts: &[Fact], depth: usize) -> fmt::Result {
    facts.iter().try_for_each(|fact| {
        // A query may be written on several lines; each fact has one.
        let text = fact.text.replace('\n', "\\n");
        writeln!(f, "{:1$}{2:NAME_WIDTH$} {text}", "", 2 * depth, fact.name)
    })
}
