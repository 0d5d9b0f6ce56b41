"""What people say about a static function: options, loops, specifications, modes."""
