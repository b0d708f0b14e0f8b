"""Questions as text: a small language of events, what they mean for a table's columns, and exact answers."""

from xspn.questions.answers import Answer, Answers, Posterior, probabilities
from xspn.questions.ask import Question, questions_of
from xspn.questions.reading import evidence_row
from xspn.questions.recommendation import NextItem, recommendations

__all__ = [
    "Answer",
    "Answers",
    "NextItem",
    "Posterior",
    "Question",
    "evidence_row",
    "probabilities",
    "questions_of",
    "recommendations",
]
