"""From text to trees and back: the parser, templates of code, names, the emitter."""
