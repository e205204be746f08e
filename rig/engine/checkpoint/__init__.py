"""The tiny checkpoint: MiniCPM-o 4.5 in shape and token ids, at toy width, with weights that hold a conversation."""
