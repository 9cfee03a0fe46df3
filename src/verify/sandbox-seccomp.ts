/** The system-call filter of the sandbox: a classic BPF program as bytes, for `bwrap --seccomp`. */

/** Refused calls with their numbers on x86-64 and arm64: network, tracing, namespaces, mounts, kernel doors, and memory outside RLIMIT_AS. */
const refused: Readonly<Record<string, readonly [number, number]>> = {
  socket: [41, 198],
  connect: [42, 203],
  bind: [49, 200],
  listen: [50, 201],
  accept: [43, 202],
  accept4: [288, 242],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  bpf: [321, 280],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  personality: [135, 92],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
  msgget: [68, 186],
  semget: [64, 190],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  syslog: [103, 116],
  acct: [163, 89],
  quotactl: [179, 60],
};

interface Machine {
  /** Column of the table above. */
  column: 0 | 1;
  auditArch: number;
  clone: number;
  clone3: number;
  ioctl: number;
  /** Call numbers from here on belong to another ABI (x32) and are refused. */
  firstForeign: number | null;
}

const machines: Readonly<Record<string, Machine>> = {
  x64: { column: 0, auditArch: 0xc000003e, clone: 56, clone3: 435, ioctl: 16, firstForeign: 0x40000000 },
  arm64: { column: 1, auditArch: 0xc00000b7, clone: 220, clone3: 435, ioctl: 29, firstForeign: null },
};

const loadWord = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const jumpIfAnyBit = 0x45;
const answer = 0x06;

const allow = 0x7fff0000;
const killProcess = 0x80000000;
const errno = (code: number): number => 0x00050000 | code;
const EPERM = 1;
const ENOSYS = 38;

// Offsets in struct seccomp_data; arguments are 64 bits, low half first on both machines.
const numberAt = 0;
const archAt = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

/** CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET. */
const namespaceFlags = 0x7e020000;
const TIOCSTI = 0x5412;

type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, k: number];

/**
 * The filter for a machine (`process.arch`), as an array of struct sock_filter (8 bytes each, little-endian); null for
 * machines whose call numbers are not in the table. A foreign architecture is killed; refused calls fail with EPERM;
 * clone3, whose flags a filter can't read, answers ENOSYS, so that libc falls back to clone.
 */
export function seccompFilter(arch: string): Buffer | null {
  const machine = machines[arch];
  if (machine === undefined) return null;
  const program: Instruction[] = [
    [loadWord, 0, 0, archAt],
    [jumpIfEqual, 1, 0, machine.auditArch],
    [answer, 0, 0, killProcess],
    [loadWord, 0, 0, numberAt],
  ];
  if (machine.firstForeign !== null) {
    program.push([jumpIfAtLeast, 0, 1, machine.firstForeign], [answer, 0, 0, errno(EPERM)]);
  }
  program.push([jumpIfEqual, 0, 1, machine.clone3], [answer, 0, 0, errno(ENOSYS)]);
  program.push(...refuseArgument(machine.clone, 0, jumpIfAnyBit, namespaceFlags));
  program.push(...refuseArgument(machine.ioctl, 1, jumpIfEqual, TIOCSTI));
  for (const numbers of Object.values(refused)) {
    program.push([jumpIfEqual, 0, 1, numbers[machine.column]], [answer, 0, 0, errno(EPERM)]);
  }
  program.push([answer, 0, 0, allow]);
  return assemble(program);
}

/** Refuse one call when its argument matches, allow it otherwise; other calls pass by. */
function refuseArgument(call: number, argument: number, test: number, value: number): Instruction[] {
  return [
    [jumpIfEqual, 0, 4, call],
    [loadWord, 0, 0, argumentAt(argument)],
    [test, 0, 1, value],
    [answer, 0, 0, errno(EPERM)],
    [answer, 0, 0, allow],
  ];
}

function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, jumpTrue, jumpFalse, k], i) => {
    bytes.writeUInt16LE(code, i * 8);
    bytes.writeUInt8(jumpTrue, i * 8 + 2);
    bytes.writeUInt8(jumpFalse, i * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, i * 8 + 4);
  });
  return bytes;
}
