//! Variables as people type them: `name=value`.

use anyhow::{Result, anyhow};
use travertine_kernel::Assignments;
use travertine_value::{Name, Value};

pub(crate) use travertine_data::text::{
    assignments as of_value, begins_like_json, pairs as show, short, value_of,
};

use crate::files;

/// Variables as arguments give them: those of an object of JSON, which `option` has as it is or in a file,
/// and single ones, which go before.
pub(crate) fn given(
    option: &str,
    object_or_file: Option<&str>,
    single: &[(Name, Value)],
) -> Result<Assignments> {
    let mut all = match object_or_file {
        None => Vec::new(),
        Some(text) if begins_like_json(text) => {
            object(text).map_err(|it| anyhow!("{option}: {it}"))?
        }
        Some(path) => {
            let text = files::text(path.as_ref())?;
            object(&text).map_err(|it| anyhow!("{}: {it}", files::title(path.as_ref())))?
        }
    };
    for (name, value) in single {
        all.retain(|(known, _)| known != name);
        all.push((Name::clone(name), value.clone()));
    }
    Ok(all)
}

/// One `name=value`, as an argument. The value is JSON where it is JSON, otherwise text.
pub(crate) fn pair(text: &str) -> Result<(Name, Value), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("`{text}` has no `=`; write name=value"));
    };
    let name = name.trim();
    if name.is_empty() {
        return Err(format!("`{text}` has no name before the `=`; write name=value"));
    }
    let value = value_of(value).map_err(|it| format!("{name}: {it}"))?;
    Ok((name.into(), value))
}

/// A line of variables: an object of JSON, or `name=value` with spaces between. Spaces in quotes and
/// brackets belong to the value.
pub(crate) fn line(text: &str) -> Result<Assignments, String> {
    let text = text.trim();
    if text.starts_with('{') {
        return object(text);
    }
    words(text).iter().map(|it| pair(it)).collect()
}

/// The variables that an object of JSON names.
pub(crate) fn object(text: &str) -> Result<Assignments, String> {
    match Value::parse_json(text) {
        Ok(value) => of_value(&value),
        Err(error) if error.is_malformed() => Err(format!("this is not JSON: {error}")),
        Err(error) => Err(format!("this JSON cannot be taken: {error}")),
    }
}

/// Splits at spaces outside of quotes and brackets.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for letter in text.chars() {
        if letter.is_whitespace() && depth == 0 && !quoted {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            continue;
        }
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        word.push(letter);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_where_it_is_json() {
        let value = |text| pair(text).unwrap().1;
        assert_eq!(value("n=12.50"), Value::parse_json("12.5").unwrap());
        assert_eq!(value("b=true"), true.into());
        assert_eq!(value("l=[1,2]"), vec![1.into(), 2.into()].into());
        assert_eq!(value("t=Ann"), "Ann".into());
        assert_eq!(value("t=\"12\""), "12".into());
        assert_eq!(value("e="), "".into());
        assert_eq!(value("x=a=b"), "a=b".into());
        assert_eq!(value("zip=007"), "007".into());
        assert!(pair("amount").unwrap_err().contains("no `=`"));
        assert!(pair("=1").unwrap_err().contains("no name"));
    }

    #[test]
    fn what_was_meant_as_json_is_not_taken_for_a_text() {
        let fault = |text| pair(text).unwrap_err();
        for text in ["x={\"a\":", "x= [1,", "x=\"a", "x={a: 1}", "x=[1] 2"] {
            let fault = fault(text);
            assert!(
                fault.starts_with("x: it begins like JSON") && fault.contains("column"),
                "{fault}"
            );
        }
        for text in ["x=12345678901234567890123456789012345", "x=1e7000", "x=-1.5E+9999"] {
            assert!(fault(text).contains("in double quotes it is a text"), "{}", fault(text));
        }
        assert_eq!(pair("x=1e").unwrap().1, "1e".into());
    }

    #[test]
    fn json_that_is_too_deep_or_too_long_is_told_from_what_is_none() {
        let deep = "[".repeat(2_000) + &"]".repeat(2_000);
        let long = format!("[{}]", "1".repeat(35));
        for (text, why) in
            [(deep, "nested deeper than 256"), (long, "at most 34 significant digits")]
        {
            for fault in
                [value_of(&text).unwrap_err(), object(&format!("{{\"a\":{text}}}")).unwrap_err()]
            {
                assert!(
                    fault.starts_with("this JSON cannot be taken: ") && fault.contains(why),
                    "{fault}"
                );
            }
        }
    }

    #[test]
    fn a_line_is_split_at_spaces_outside_of_values() {
        let all = line(r#"name="Ann Lee"  items=["a b", {"c": 1}] ok=true"#).unwrap();
        assert_eq!(show(&all), r#"name="Ann Lee" items=["a b",{"c":1}] ok=true"#);
        assert_eq!(line(r#"{"a": 1}"#).unwrap(), vec![("a".into(), 1.into())]);
        assert_eq!(line("").unwrap(), vec![]);
        assert!(line("{oops").unwrap_err().contains("not JSON"));
    }
}
