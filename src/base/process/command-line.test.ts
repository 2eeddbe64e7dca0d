import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommandFailure, findCommand, takeFlags } from './command-line.ts'

const FLAGS = [
  { name: 'name', short: 'n' },
  { name: 'live', kind: 'switch' },
  { name: 'no-wait' },
  { name: 'all', kind: 'bool' },
]

function take(line: string) {
  const { values, rest } = takeFlags(line.split(' '), FLAGS)
  return { ...Object.fromEntries([...values].map(([{ name }, texts]) => [name, texts])), rest }
}

test('flags take a value after a space or an equals sign, more than once', () => {
  assert.deepEqual(take('a --name x b --name=y=z --name= --name --live'), {
    name: ['x', 'y=z', '', '--live'],
    rest: ['a', 'b'],
  })
})

test('a switch stands alone, takes true or false, or is negated', () => {
  assert.deepEqual(take('--live x'), { live: ['true'], rest: ['x'] })
  assert.deepEqual(take('--live false --live=true --no-live --live'), {
    live: ['false', 'true', 'false', 'true'],
    rest: [],
  })
})

test('a letter stands for its flag', () => {
  assert.deepEqual(take('-n x -nx n'), { name: ['x'], rest: ['-nx', 'n'] })
})

test('a bool stands alone too, but is not negated', () => {
  assert.deepEqual(take('--all x --all=false --no-all'), { all: ['true', 'false'], rest: ['x', '--no-all'] })
})

test('what is not one of the flags is left over in its order', () => {
  assert.deepEqual(take('--other x -h --no-name --no-wait 1'), {
    'no-wait': ['1'],
    rest: ['--other', 'x', '-h', '--no-name'],
  })
})

test('nothing after two hyphens is a flag', () => {
  assert.deepEqual(take('--name x y -- --name z'), { name: ['x'], rest: ['y', '--', '--name', 'z'] })
})

test('a flag without its value is rejected', () => {
  assert.throws(() => take('x --name'), new CommandFailure('--name needs a value.'))
})

test('the longest command that the words name is found', () => {
  const commands = [['events'], ['events', 'dead'], ['user', 'password']].map((words) => ({ words }))
  const find = (line: string) => {
    const { command, group, matched } = findCommand(commands, line.split(' '))
    return [command?.words.join(' '), matched.length, group.length]
  }

  assert.deepEqual(find('events dead ed_1'), ['events dead', 2, 1])
  assert.deepEqual(find('events ed_1'), ['events', 1, 2])
  assert.deepEqual(find('user'), [undefined, 1, 1])
  assert.deepEqual(find('stray'), [undefined, 0, 3])
})
