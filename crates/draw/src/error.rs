//! Why there is no picture.

use std::{error, fmt};

use travertine_xml::Diagnostic;

/// Why there is no picture.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file is no XML.
    Unreadable(Box<Diagnostic>),
    /// There is nothing in it that can be drawn.
    Empty(String),
    /// The process that was asked for is not in it.
    NoSuchProcess {
        /// What was asked for.
        id: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The picture has too many elements to be of use to anyone.
    TooLarge {
        /// How many nodes there are.
        nodes: usize,
        /// How many there may be.
        nodes_max: usize,
    },
    /// The picture cannot be turned into pixels.
    Pixels(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(diagnostic) => diagnostic.fmt(f),
            Self::Empty(file) => write!(f, "there is nothing to draw in {file}"),
            Self::NoSuchProcess { id, known } if known.is_empty() => {
                write!(f, "no such process: {id}; there is none")
            }
            Self::NoSuchProcess { id, known } => {
                write!(f, "no such process: {id}; there is {}", known.join(", "))
            }
            Self::TooLarge { nodes, nodes_max } => {
                write!(f, "{nodes} elements are too many to draw; {nodes_max} are the limit")
            }
            Self::Pixels(why) => write!(f, "the picture cannot be turned into a PNG: {why}"),
        }
    }
}

impl error::Error for Error {}
