//! Synthetic webs with known answers.
