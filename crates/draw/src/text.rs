//! How wide texts are, and where their lines end.
//!
//! Nobody knows in which font an SVG will be shown, so widths are those of the common sans-serif
//! fonts, a little on the safe side.

/// The size of names.
pub(crate) const SIZE: f64 = 12.0;

/// The size of what is written beside things.
pub(crate) const SMALL: f64 = 11.0;

/// How far it is from one line to the next.
pub(crate) fn line_height(size: f64) -> f64 {
    size * 1.2
}

/// Some fonts are wider than others.
const SAFE: f64 = 1.04;

/// How wide a text is.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size * SAFE
}

/// How wide a letter is, in parts of the size.
fn advance(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '\'' | '|' | '.' | ',' | ':' | ';' | '!' => 0.27,
        'I' | 'f' | 't' | 'r' | ' ' | '(' | ')' | '[' | ']' | '/' | '-' => 0.34,
        'm' | 'M' | 'W' | '@' | '%' => 0.92,
        'w' | 'O' | 'Q' | 'G' | '…' | '—' => 0.79,
        'A'..='Z' | '&' => 0.68,
        's' | 'c' | 'k' | 'v' | 'x' | 'y' | 'z' => 0.52,
        '\u{300}'..='\u{36f}' => 0.0,
        // Letters of East Asia and pictures fill a square.
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{ffdc}' | '\u{1f000}'.. => 1.0,
        _ => 0.58,
    }
}

/// The text in lines no wider than `width_max`, at most so many. Words that are too long are broken,
/// and what is too much ends in dots.
pub(crate) fn wrap(text: &str, size: f64, width_max: f64, lines_max: usize) -> Vec<String> {
    let width_max = width_max.max(2.0 * size);
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let joined = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if width(&joined, size) <= width_max {
                line = joined;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            for part in pieces(word, size, width_max) {
                if !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                }
                line = part;
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    let lines_max = lines_max.max(1);
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        if let Some(last) = lines.last_mut() {
            while width(last, size) + advance('…') * size * SAFE > width_max
                && last.chars().count() > 1
            {
                last.pop();
            }
            last.push('…');
        }
    }
    lines
}

/// A word in pieces that fit, broken before a capital or after a sign where there is one.
fn pieces(word: &str, size: f64, width_max: f64) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let wide = |letter: &char| advance(*letter) * size * SAFE;
    let mut left: f64 = letters.iter().map(wide).sum();
    let mut all = Vec::new();
    let mut rest = letters.as_slice();
    while left > width_max && rest.len() > 1 {
        let mut taken = 0.0;
        let fits = rest.iter().take_while(|it| {
            taken += wide(it);
            taken <= width_max
        });
        let end = fits.count().clamp(1, rest.len() - 1);
        let is_seam = |place: usize| {
            let (before, after) = (rest[place - 1], rest[place]);
            matches!(before, '-' | '_' | '.' | '/' | ',' | ':')
                || before.is_lowercase() && after.is_uppercase()
        };
        let cut = (end / 2 + 1..=end).rev().find(|it| is_seam(*it)).unwrap_or(end);
        let (piece, after) = rest.split_at(cut);
        left -= piece.iter().map(wide).sum::<f64>();
        all.push(piece.iter().collect());
        rest = after;
    }
    if !rest.is_empty() {
        all.push(rest.iter().collect());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words() {
        assert_eq!(wrap("Check the invoice", 12.0, 70.0, 9), ["Check the", "invoice"]);
        assert_eq!(wrap("one\ntwo", 12.0, 100.0, 9), ["one", "two"]);
        assert!(wrap("  ", 12.0, 100.0, 9).is_empty());
    }

    #[test]
    fn words_that_are_too_long_are_broken_at_their_seams() {
        assert_eq!(wrap("shipIt-byMail", 12.0, 60.0, 9), ["shipIt-by", "Mail"]);
        let lines = wrap(&"x".repeat(100), 12.0, 60.0, 99);
        assert!(lines.iter().all(|it| width(it, 12.0) <= 60.0), "{lines:?}");
        assert_eq!(lines.concat().len(), 100);
    }

    #[test]
    fn a_word_of_a_million_letters_is_broken_like_any_other() {
        let lines = wrap(&"shipIt-".repeat(150_000), 12.0, 60.0, 4);
        assert_eq!(lines.len(), 4);
        assert!(lines[3].ends_with('…'), "{lines:?}");
    }

    #[test]
    fn what_is_too_much_ends_in_dots() {
        let lines = wrap(&"word ".repeat(50), 12.0, 60.0, 3);
        assert_eq!(lines.len(), 3);
        assert!(lines[2].ends_with('…'));
        assert!(width(&lines[2], 12.0) <= 61.0);
    }
}
