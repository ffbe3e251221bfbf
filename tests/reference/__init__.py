"""What the answers are measured against: plain readings, brute force, recorded decisions."""
