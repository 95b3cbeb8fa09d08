"""What belongs to no subject: sentences, memory, files, figures."""
