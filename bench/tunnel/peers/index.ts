import type { Candidate } from '../candidates.ts'
import type { Setting } from '../forwards.ts'
import { startBore } from './bore.ts'
import { startChisel } from './chisel.ts'
import { startFrpHttp, startFrpTcp } from './frp.ts'
import { startOpenSsh } from './openssh.ts'
import { startPiko } from './piko.ts'
import { startRathole, startRatholeNoise } from './rathole.ts'
import { startSish } from './sish.ts'

/** Another tunnel; measured when its programs are on the PATH. */
export interface Peer {
  readonly name: string
  readonly programs: readonly string[]
  /** What the link between agent and server is protected with. */
  readonly protection: string
  /** Whether many streams share one connection of the agent. */
  readonly multiplexes: boolean
  start(setting: Setting): Promise<Candidate | undefined>
}

export const PEERS: readonly Peer[] = [
  { name: 'frp tcp', programs: ['frps', 'frpc'], protection: 'TLS', multiplexes: true, start: startFrpTcp },
  { name: 'frp http', programs: ['frps', 'frpc'], protection: 'TLS', multiplexes: true, start: startFrpHttp },
  { name: 'chisel', programs: ['chisel'], protection: 'SSH', multiplexes: true, start: startChisel },
  { name: 'sish', programs: ['sish', 'ssh'], protection: 'SSH', multiplexes: true, start: startSish },
  { name: 'piko', programs: ['piko'], protection: 'none', multiplexes: true, start: startPiko },
  {
    name: 'OpenSSH -R',
    programs: ['sshd', 'ssh'],
    protection: 'SSH',
    multiplexes: true,
    start: startOpenSsh,
  },
  { name: 'rathole', programs: ['rathole'], protection: 'none', multiplexes: false, start: startRathole },
  {
    name: 'rathole noise',
    programs: ['rathole'],
    protection: 'Noise',
    multiplexes: false,
    start: startRatholeNoise,
  },
  { name: 'bore', programs: ['bore'], protection: 'none', multiplexes: false, start: startBore },
]
