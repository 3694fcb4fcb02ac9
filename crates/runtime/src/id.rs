//! Ids that people choose for instances and messages.

use travertine_value::Name;

use crate::{BadId, Error};

/// How many bytes an id may have that someone chooses.
const ID_BYTES_MAX: usize = 1_024;

/// Whether something can have an id that someone chooses. People read it in lists, and type it.
pub(crate) fn check(id: &Name) -> Result<(), Error> {
    let reason = match id.chars().find(|it| does_something(*it)) {
        _ if id.is_empty() => BadId::Empty,
        _ if id.len() > ID_BYTES_MAX => BadId::TooLong { max: ID_BYTES_MAX },
        _ if id.chars().all(shows_nothing) => BadId::Blank,
        Some(letter) => BadId::Control(letter),
        None => return Ok(()),
    };
    Err(Error::BadId { id: Name::clone(id), reason })
}

/// Whether a character is obeyed instead of shown: control characters, ends of lines, and what turns around the
/// direction of what follows, so that another id is read than there is.
fn does_something(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether nobody sees a character: white space, and what Unicode says is not displayed.
fn shows_nothing(letter: char) -> bool {
    letter.is_whitespace()
        || does_something(letter)
        || matches!(
            letter,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(id: &str) -> Option<BadId> {
        match check(&Name::from(id)) {
            Ok(()) => None,
            Err(Error::BadId { reason, .. }) => Some(reason),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn an_id_has_something_to_see() {
        for blank in [" ", "\t", " \n ", "\u{a0}", "\u{3000}", "\u{200b}", "\u{feff} ", "\u{3164}"]
        {
            assert_eq!(told(blank), Some(BadId::Blank), "{blank:?}");
        }
        assert_eq!(told(""), Some(BadId::Empty));
        for fine in [
            "a",
            " a",
            "a b",
            "-",
            "\u{1f468}\u{200d}\u{1f469}",
            "\u{65e5}\u{672c}",
            "\u{915}\u{94d}",
        ] {
            assert_eq!(told(fine), None, "{fine:?}");
        }
    }

    #[test]
    fn an_id_has_nothing_that_is_obeyed() {
        for letter in ['\u{1b}', '\n', '\u{85}', '\u{2028}', '\u{202e}', '\u{2066}'] {
            assert_eq!(told(&format!("a{letter}b")), Some(BadId::Control(letter)));
        }
    }
}
