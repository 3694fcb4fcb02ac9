//! Texts. Positions count characters, not bytes.

use std::fmt::Write;

use super::{super::value::FeelValue, Answer, Args, Entry, Fault, args::wrong, pattern::Pattern};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("substring(string, start position, length?)", substring),
    ("string length(string)", string_length),
    ("upper case(string)", upper_case),
    ("lower case(string)", lower_case),
    ("substring before(string, match)", substring_before),
    ("substring after(string, match)", substring_after),
    ("replace(input, pattern, replacement, flags?)", replace),
    ("contains(string, match)", contains),
    ("starts with(string, match)", starts_with),
    ("ends with(string, match)", ends_with),
    ("matches(input, pattern, flags?)", matches),
    ("split(string, delimiter)", split),
    ("string join(list, delimiter?)", string_join),
    ("string join(list, delimiter, prefix, suffix)", string_join),
    ("extract(string, pattern)", extract),
    ("trim(string)", trim),
    ("is blank(string)", is_blank),
    ("to base64(value)", to_base64),
    ("from base64(value)", from_base64),
];

fn substring(args: &mut Args<'_, '_, '_>) -> Answer {
    let (text, start) = (args.string(0)?, args.integer(1)?);
    let length = text.chars().count();
    let skip = match start {
        1.. => usize::try_from(start - 1).unwrap_or(usize::MAX),
        0 => return Err(Fault::argument("positions count from 1")),
        _ => {
            match length.checked_sub(usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX)) {
                Some(skip) => skip,
                None => return Err(Fault::argument("the position is before the beginning")),
            }
        }
    };
    let take = if args.is_given(2) {
        let length = usize::try_from(args.integer(2)?);
        length.map_err(|_| Fault::argument("the length is negative"))?
    } else {
        length
    };
    Ok(text.chars().skip(skip).take(take).collect::<String>().into())
}

fn string_length(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.string(0)?.chars().count().into())
}

fn upper_case(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.string(0)?.to_uppercase().into())
}

fn lower_case(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.string(0)?.to_lowercase().into())
}

fn substring_before(args: &mut Args<'_, '_, '_>) -> Answer {
    let (text, match_) = (args.string(0)?, args.string(1)?);
    Ok(text.split_once(&*match_).map_or("", |(before, _)| before).into())
}

fn substring_after(args: &mut Args<'_, '_, '_>) -> Answer {
    let (text, match_) = (args.string(0)?, args.string(1)?);
    Ok(text.split_once(&*match_).map_or("", |(_, after)| after).into())
}

fn contains(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.string(0)?.contains(&*args.string(1)?).into())
}

fn starts_with(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.string(0)?.starts_with(&*args.string(1)?).into())
}

fn ends_with(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.string(0)?.ends_with(&*args.string(1)?).into())
}

fn pattern(args: &Args<'_, '_, '_>, index: usize, flags: usize) -> Result<Pattern, Fault> {
    let text = args.string(index)?;
    let flags = match args.given(flags) {
        None => "".into(),
        Some(FeelValue::String(flags)) => flags,
        Some(other) => return Err(wrong(&other, "a string")),
    };
    Pattern::new(&text, &flags).map_err(Fault::argument)
}

fn matches(args: &mut Args<'_, '_, '_>) -> Answer {
    let text = args.string(0)?;
    let pattern = pattern(args, 1, 2)?;
    args.run.session.charge_steps(text.len())?;
    pattern.is_match(&text).map(Into::into).map_err(Fault::argument)
}

fn replace(args: &mut Args<'_, '_, '_>) -> Answer {
    let (text, replacement) = (args.string(0)?, args.string(2)?);
    let pattern = pattern(args, 1, 3)?;
    args.run.session.charge_steps(text.len())?;
    let bytes_max = args.run.session.bytes_left();
    pattern.replace(&text, &replacement, bytes_max).map(Into::into).map_err(Fault::argument)
}

fn split(args: &mut Args<'_, '_, '_>) -> Answer {
    let text = args.string(0)?;
    let pattern = pattern(args, 1, usize::MAX)?;
    args.run.session.charge_steps(text.len())?;
    let pieces = pattern.split(&text).map_err(Fault::argument)?;
    Ok(pieces.into_iter().map(FeelValue::from).collect())
}

fn extract(args: &mut Args<'_, '_, '_>) -> Answer {
    let text = args.string(0)?;
    let pattern = pattern(args, 1, usize::MAX)?;
    args.run.session.charge_steps(text.len())?;
    let found = pattern.find_all(&text).map_err(Fault::argument)?;
    Ok(found.into_iter().map(FeelValue::from).collect())
}

/// Null among the items is left out.
fn string_join(args: &mut Args<'_, '_, '_>) -> Answer {
    let list = args.list(0)?;
    let part = |index| match args.given(index) {
        None => Ok("".into()),
        Some(FeelValue::String(text)) => Ok(text),
        Some(other) => Err(wrong(&other, "a string")),
    };
    let (delimiter, prefix, suffix) = (part(1)?, part(2)?, part(3)?);
    let mut texts = Vec::with_capacity(list.len());
    let mut bytes = prefix.len() + suffix.len();
    for item in list.iter() {
        match item {
            FeelValue::String(text) => {
                bytes = bytes.saturating_add(text.len() + delimiter.len());
                texts.push(text);
            }
            FeelValue::Null => {}
            other => return Err(wrong(&other, "a string")),
        }
    }
    args.run.session.charge_bytes(bytes)?;
    Ok(format!("{prefix}{}{suffix}", texts.join(&*delimiter)).into())
}

fn trim(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.string(0)?.trim().into())
}

fn is_blank(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.string(0)?.trim().is_empty().into())
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(args: &mut Args<'_, '_, '_>) -> Answer {
    let text = args.string(0)?;
    let mut encoded = String::with_capacity(text.len().div_ceil(3) * 4);
    for chunk in text.as_bytes().chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for position in 0..4 {
            let sextet = (bits >> (18 - 6 * position)) & 63;
            let is_padding = position > chunk.len();
            let digit = if is_padding { b'=' } else { BASE64[sextet as usize] };
            encoded.write_char(digit.into()).expect("a string takes every character");
        }
    }
    Ok(encoded.into())
}

fn from_base64(args: &mut Args<'_, '_, '_>) -> Answer {
    let text = args.string(0)?;
    let malformed = || Fault::argument("not a text in base64");
    let mut bytes = Vec::with_capacity(text.len());
    let (mut bits, mut count) = (0_u32, 0_u32);
    for digit in text.trim_end_matches('=').bytes() {
        let sextet = BASE64.iter().position(|it| *it == digit).ok_or_else(malformed)?;
        bits = (bits << 6 | u32::try_from(sextet).expect("below 64")) & 0xff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).expect("a byte"));
        }
    }
    String::from_utf8(bytes).map(Into::into).map_err(|_| malformed())
}
