"""Questions as text: a small language of events, what they mean for a table's columns, and exact answers."""

from xspn.questions.answers import Answer, Answers, Posterior, probabilities
from xspn.questions.ask import Question, questions_of
from xspn.questions.contributions import Contribution, Contributions, contributions
from xspn.questions.next_questions import NextQuestion, NextQuestions, next_questions
from xspn.questions.reading import evidence_row
from xspn.questions.recommendation import NextItem, recommendations
from xspn.questions.replies import replies, score_facts

__all__ = [
    "Answer",
    "Answers",
    "Contribution",
    "Contributions",
    "NextItem",
    "NextQuestion",
    "NextQuestions",
    "Posterior",
    "Question",
    "contributions",
    "evidence_row",
    "next_questions",
    "probabilities",
    "questions_of",
    "recommendations",
    "replies",
    "score_facts",
]
