//! The sentence for the user.

use serde_json::Value;

const MAX_MESSAGE_CHARS: usize = 500;

/// Reads one plain line of at most 500 characters; `None` where nothing is left of it.
pub fn sentence(value: &Value) -> Option<String> {
    let plain: String = value.as_str()?.chars().map(plain).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() {
        0 => None,
        1..=MAX_MESSAGE_CHARS => Some(line),
        _ => Some(line.chars().take(MAX_MESSAGE_CHARS - 1).chain(['…']).collect()),
    }
}

/// Replaces what a client may read as markup, and what hides text or turns it around.
fn plain(character: char) -> char {
    match character {
        '[' => '(',
        ']' => ')',
        '`' | '*' | '<' | '>' | '{' | '}' | '\\' | '|' => ' ',
        _ if character.is_control() || is_hidden(character) => ' ',
        _ => character,
    }
}

/// Unicode's format characters (Cf), and those for private use (Co).
fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}' | '\u{f0000}'..='\u{10ffff}')
}
