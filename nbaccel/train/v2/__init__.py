"""Where Ray Train 2.60 keeps JaxTrainer, and `api`: the paths of its second version, whose names are those of
`nbaccel.train`.
"""
