"""What people read: decisions as text and as JSON."""
