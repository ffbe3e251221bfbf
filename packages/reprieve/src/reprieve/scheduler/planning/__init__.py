"""What a decision reads, and which plans make room for a demand. Changes nothing."""
