// A module that cannot be loaded.
throw new Error('cannot start')
