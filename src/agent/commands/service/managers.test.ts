import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { launchdManager } from './launchd.ts'
import type { ServiceManager } from './manager.ts'
import { systemdManager } from './systemd.ts'
import { windowsManager } from './windows.ts'

const PROGRAM = ['/opt/a & "b"/adit', 'service', 'run', '--config', '/home/me/100% <mine>.yml']

const SYSTEM = { uid: 501, home: '/Users/me', directory: undefined, environment: {} }

/** The command lines of an action. */
const linesOf = ({ commands }: ServiceManager, action: keyof ServiceManager['commands']) =>
  commands[action].map(({ command }) => command.join(' '))

/** Runs a Python program on the bytes of a file, and reads the JSON it prints. */
function parseWithPython(program: string, input: string | Buffer): unknown {
  return JSON.parse(
    execFileSync('python3', ['-c', `import json, sys\n${program}`], { input, encoding: 'utf8' }),
  )
}

test('launchd gets a property list that starts the agent with the system and keeps it running', () => {
  const user = launchdManager(SYSTEM)
  const root = launchdManager({ ...SYSTEM, uid: 0 })

  const list = parseWithPython(
    'import plistlib\nprint(json.dumps(plistlib.loads(sys.stdin.buffer.read())))',
    user.format(PROGRAM),
  ) as Record<string, unknown>

  assert.deepEqual(list, {
    Label: 'adit.agent',
    ProgramArguments: PROGRAM,
    RunAtLoad: true,
    KeepAlive: true,
    ThrottleInterval: 15,
    ProcessType: 'Background',
    StandardOutPath: '/Users/me/Library/Logs/adit-agent.log',
    StandardErrorPath: '/Users/me/Library/Logs/adit-agent.log',
  })
  assert.equal(user.file, '/Users/me/Library/LaunchAgents/adit.agent.plist')
  assert.equal(root.file, '/Library/LaunchDaemons/adit.agent.plist')
  assert.deepEqual(linesOf(user, 'start'), [
    `launchctl bootstrap gui/501 ${user.file}`,
    'launchctl kickstart gui/501/adit.agent',
  ])
  assert.deepEqual(linesOf(root, 'restart').at(-1), 'launchctl kickstart -k system/adit.agent')
  assert.deepEqual(linesOf(root, 'stop'), ['launchctl bootout system/adit.agent'])
  assert.match('system/adit.agent = {\n\tactive count = 1\n\tstate = running\n', root.status.running)
  assert.doesNotMatch('\tstate = not running\n', root.status.running)
})

test('the Task Scheduler gets a task that starts the agent with the system, without a time limit', () => {
  const manager = windowsManager({ ...SYSTEM, environment: { ProgramData: 'D:\\Data' } })
  const program = ['C:\\Program Files\\adit.exe', 'service', '--config', 'C:\\my "files"\\', 'a&b']

  const task = parseWithPython(
    `import xml.etree.ElementTree as tree
root = tree.fromstring(sys.stdin.buffer.read())
name = lambda e: e.tag.split('}')[1]
print(json.dumps({name(e): e.text for e in root.iter() if len(e) == 0}))`,
    manager.format(program),
  ) as Record<string, string>

  assert.equal(task.Command, 'C:\\Program Files\\adit.exe')
  assert.equal(task.Arguments, 'service --config "C:\\my \\"files\\"\\\\" a&b')
  assert.equal(task.ExecutionTimeLimit, 'PT0S')
  assert.equal(task.UserId, 'S-1-5-18')
  assert.equal(manager.file, 'D:\\Data\\adit\\adit-agent.xml')
  assert.deepEqual(linesOf(manager, 'install'), [
    'schtasks.exe /Create /TN Adit agent /XML D:\\Data\\adit\\adit-agent.xml',
  ])
  assert.deepEqual(linesOf(manager, 'uninstall'), [
    'schtasks.exe /End /TN Adit agent',
    'schtasks.exe /Delete /TN Adit agent /F',
  ])
  assert.match('Running\r\n', manager.status.running)
})

test('systemd gets a unit in which nothing of a path is expanded', () => {
  const manager = systemdManager({ ...SYSTEM, uid: 0 })

  assert.match(
    String(manager.format(PROGRAM)),
    /^ExecStart="\/opt\/a & \\"b\\"\/adit" "service" "run" "--config" "\/home\/me\/100%% <mine>\.yml"$/m,
  )
  assert.equal(manager.file, '/etc/systemd/system/adit-agent.service')
})
