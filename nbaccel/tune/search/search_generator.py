"""SearchGenerator, which says what takes its place."""

from nbaccel import elsewhere

SearchGenerator = elsewhere.refusing(
    __name__, "SearchGenerator", "give your Searcher to TuneConfig(search_alg=...) as it is; trials are made from it."
)
