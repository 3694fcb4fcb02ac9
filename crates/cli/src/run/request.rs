//! What someone at the prompt asks for.

use travertine_kernel::Assignments;
use travertine_value::Name;

use crate::pairs;

/// What someone at the prompt asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    /// What is shown happens, and brings these variables.
    Answer(Assignments),
    Error {
        code: String,
        vars: Assignments,
        message: String,
    },
    Escalate {
        code: String,
        vars: Assignments,
    },
    Fail {
        message: String,
    },
    Retry,
    Choose(usize),
    Skip,
    Time(Option<String>),
    Set(Assignments),
    Message {
        name: Name,
        vars: Assignments,
    },
    Signal {
        name: Name,
        vars: Assignments,
    },
    List,
    Vars,
    Tree,
    Cancel,
    Help,
    Quit,
}

/// All of it, for the help.
pub(crate) const HELP: &str = "  \
  Enter                     complete it, without variables
  a=1 name=\"Ann Lee\"        complete it, with these variables; {\"a\": 1} does the same
  error CODE [a=1] [text]   the work throws an error for the model to catch
  escalate CODE [a=1]       the work escalates
  fail [text]               the work fails for a technical reason
  retry                     try again what has an incident
  skip                      look at the next thing that waits
  3                         look at number 3 of the list
  list                      everything that waits
  vars                      the variables that it sees
  tree                      the tree of scopes and tokens
  time [PT1H]               let time pass: so much, or until the next timer
  set a=1                   set variables of the process
  message NAME [a=1]        send a message
  signal NAME [a=1]         send a signal
  cancel                    cancel the process
  quit                      leave; Ctrl-D and Ctrl-C do the same";

impl Request {
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let line = line.trim();
        if line.starts_with('{') || line.is_empty() {
            return pairs::line(line).map(Self::Answer);
        }
        let mut words = pairs::words(line);
        if words[0].contains('=') {
            return pairs::line(line).map(Self::Answer);
        }
        let verb = words.remove(0);
        if let Ok(number) = verb.parse() {
            return nothing_else(&words, Self::Choose(number));
        }
        match verb.as_str() {
            "error" => {
                let code = first(&mut words, "error CODE")?;
                let (vars, message) = vars_and_text(&words)?;
                Ok(Self::Error { code, vars, message })
            }
            "escalate" => {
                let code = first(&mut words, "escalate CODE")?;
                Ok(Self::Escalate { code, vars: vars(&words)? })
            }
            "fail" => Ok(Self::Fail { message: words.join(" ") }),
            "time" => {
                let span = (!words.is_empty()).then(|| words.remove(0));
                nothing_else(&words, Self::Time(span))
            }
            "set" if words.is_empty() => Err("write: set name=value".to_owned()),
            "set" => Ok(Self::Set(vars(&words)?)),
            "message" => {
                let name = first(&mut words, "message NAME")?.into();
                Ok(Self::Message { name, vars: vars(&words)? })
            }
            "signal" => {
                let name = first(&mut words, "signal NAME")?.into();
                Ok(Self::Signal { name, vars: vars(&words)? })
            }
            "retry" => nothing_else(&words, Self::Retry),
            "skip" => nothing_else(&words, Self::Skip),
            "list" => nothing_else(&words, Self::List),
            "vars" => nothing_else(&words, Self::Vars),
            "tree" => nothing_else(&words, Self::Tree),
            "cancel" => nothing_else(&words, Self::Cancel),
            "help" | "?" => nothing_else(&words, Self::Help),
            "quit" | "exit" => nothing_else(&words, Self::Quit),
            other => Err(format!("`{other}` is no command; `help` lists them all")),
        }
    }
}

fn nothing_else(words: &[String], request: Request) -> Result<Request, String> {
    match words.first() {
        None => Ok(request),
        Some(word) => Err(format!("`{word}` is too much here; `help` lists all commands")),
    }
}

fn first(words: &mut Vec<String>, usage: &str) -> Result<String, String> {
    if words.is_empty() {
        return Err(format!("write: {usage}"));
    }
    let word = words.remove(0);
    Ok(pairs::value_of(&word)?.as_str().map_or(word, str::to_owned))
}

fn vars(words: &[String]) -> Result<Assignments, String> {
    match words {
        [object] if object.starts_with('{') => pairs::object(object),
        _ => words.iter().map(|it| pairs::pair(it)).collect(),
    }
}

/// Variables, then a text for people.
fn vars_and_text(words: &[String]) -> Result<(Assignments, String), String> {
    let end = words.iter().position(|it| !it.contains('=') && !it.starts_with('{'));
    let (pairs, text) = words.split_at(end.unwrap_or(words.len()));
    Ok((vars(pairs)?, text.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_variables_or_a_command() {
        let read = |line| Request::read(line).unwrap();
        assert_eq!(read(""), Request::Answer(vec![]));
        assert_eq!(read("a=1"), Request::Answer(vec![("a".into(), 1.into())]));
        assert_eq!(read("{\"a\": 1}"), Request::Answer(vec![("a".into(), 1.into())]));
        assert_eq!(read("2"), Request::Choose(2));
        assert_eq!(read("time PT1H"), Request::Time(Some("PT1H".to_owned())));
        assert_eq!(
            read("error no-stock left=0 all of it is gone"),
            Request::Error {
                code: "no-stock".to_owned(),
                vars: vec![("left".into(), 0.into())],
                message: "all of it is gone".to_owned()
            }
        );
    }

    #[test]
    fn what_makes_no_sense_is_answered_with_the_way_out() {
        let fault = |line| Request::read(line).unwrap_err();
        assert_eq!(fault("frobnicate"), "`frobnicate` is no command; `help` lists them all");
        assert_eq!(fault("error"), "write: error CODE");
        assert_eq!(fault("quit now"), "`now` is too much here; `help` lists all commands");
        assert_eq!(fault("set a"), "`a` has no `=`; write name=value");
    }
}
