"""The compiled part of training: environments, updates and judgements as one program."""
