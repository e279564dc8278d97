"""A stack of base models: other kinds of models of the same classes, weighed by objects that none of them had seen."""
