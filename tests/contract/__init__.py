"""What any cluster must do, held against each that there is."""
