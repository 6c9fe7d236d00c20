"""The parts of `shared.frameworks.pretrained`: files and settings of Hugging Face, and the tables of BERT and GPT-2."""
