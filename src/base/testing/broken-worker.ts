// A worker module that fails to load.
throw new Error('cannot start')
