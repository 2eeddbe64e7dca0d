// Loaded before a run of the whole suite (`node --require`). The test runner enables an async hook to name the test that an
// uncaught error belongs to. It tracks each promise and socket until it is collected, up to a quarter of the CPU time of a
// test that makes many. Without it such an error still fails its file, with the stack printed here; run that file alone to see
// which of its tests it belongs to.
'use strict'

const hooks = require('node:async_hooks')
const { isMainThread } = require('node:worker_threads')

const { createHook } = hooks

if (isMainThread && process.env.NODE_TEST_CONTEXT !== undefined) {
  // The runner's is the first hook of the process.
  hooks.createHook = () => {
    hooks.createHook = createHook
    process.on('uncaughtExceptionMonitor', (error) => process.stderr.write(`${error?.stack ?? error}\n`))
    process.on('unhandledRejection', (error) => process.stderr.write(`${error?.stack ?? error}\n`))
    return { enable() {}, disable() {} }
  }
}
