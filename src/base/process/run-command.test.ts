import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

function run(command: string) {
  const module = JSON.stringify(new URL('./run-command.ts', import.meta.url).href)
  const script = `const { runCommand } = await import(${module}); await runCommand(${command})`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  })
  return { status, stderr }
}

test('a command that never settles prints an error and exits with 1', () => {
  const { status, stderr } = run('() => new Promise(() => {})')

  assert.equal(status, 1)
  assert.match(stderr, /^ERROR: {2}The command ended before it was done/)
})

test('a command that completes keeps its exit code and prints nothing else', () => {
  assert.deepEqual(run('async () => 0'), { status: 0, stderr: '' })
  assert.deepEqual(run('async () => 3'), { status: 3, stderr: '' })
})

test('a command that throws prints the complete error', () => {
  const { status, stderr } = run('async () => { throw new Error("broken") }')

  assert.equal(status, 1)
  assert.match(stderr, /Error: broken/)
  assert.doesNotMatch(stderr, /before it was done/)
})
