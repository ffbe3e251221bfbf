"""What was decided and why, as records, documents, sentences, events and conditions. Decides nothing."""
