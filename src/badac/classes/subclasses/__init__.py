"""Classes within a class: how many kinds of curves it holds (`division`, by the evidence for a `gap` between them), and the
class model made of them (`subclasses`).
"""
