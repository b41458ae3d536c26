"""Other tools' formats of test sets: one file each, found by its name; a format writes cases, and reads them where it can."""
