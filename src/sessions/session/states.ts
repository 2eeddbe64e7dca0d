/**
 * The states of a session, at the node where it began (its home) and of the copies at other nodes:
 *
 *                 registered            the agent is asked to start
 *   +------------+          +--------+  a session at another node    +--------+
 *   | CONNECTING | -------> | ONLINE | ----------------------------> | MOVING |
 *   +------------+          +--------+ <---------------------------- +--------+
 *                             |  |  ^            it cannot               |
 *        its agent's next     |  |  |                                    | the next session has its tunnels: the streams
 *        session registers    |  |  | a leg, or the link                 | on its legs end by themselves
 *              +--------------+  |  | to the home, is back               v
 *              v                 v  |                                +-------+
 *       +------------+        +----------+                           | MOVED |
 *       | SUPERSEDED |        | ORPHANED |                           +-------+
 *       +------------+        +----------+                               |
 *              |                   |                                     |
 *              +-------------------+------------+------------------------+
 *                                               v
 *                                           +-------+
 *                                           | ENDED |  also from every other state
 *                                           +-------+
 *
 *   CONNECTING  has not proved who it is; SSH connections are their session from the first byte
 *   SUPERSEDED  still serves the tunnels that the next session has not bound yet, until that has all or `supersededMs` pass.
 *               A MOVING session stays that until it has MOVED
 *   ORPHANED    lost all legs to its home, or as a copy its home: legs to other nodes serve until its agent, which starts its
 *               next session now, has taken its tunnels over
 *   MOVED       is not registered any more
 */
export type SessionState = 'connecting' | 'online' | 'moving' | 'superseded' | 'orphaned' | 'moved' | 'ended'

/**
 * What ended a session. The names of one that is `closed` or `revoked` are free at once; those of any other, unless its
 * agent's next session has taken them over, are in grace: reserved for its credential.
 *
 *   closed      its client said goodbye, or it was stopped; an SSH connection also when it died, since its client cannot
 *               prove that it is the same again (decision 62)
 *   revoked     its credential was deleted
 *   lost        its connection died, a probe failed, the agent restarts, or the last leg of an ORPHANED one is gone
 *   superseded  its agent's next session has its tunnels, or it was SUPERSEDED for too long
 *   moved       the same of one that was MOVING
 */
export type EndCause = 'closed' | 'revoked' | 'lost' | 'superseded' | 'moved'

/** What ended a tunnel: its session did, or `evicted`, which the agent is told. After `lost` its name is in grace. */
export type TunnelEndCause = EndCause | 'evicted'

/** Whether the names that no other tunnel serves stay reserved for the credential of the session. */
export function keepsNames(end: EndCause): boolean {
  return end !== 'closed' && end !== 'revoked'
}
