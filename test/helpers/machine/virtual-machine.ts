/**
 * A Debian with systemd in QEMU, which executes commands on its serial console. Works without
 * hardware acceleration: about a minute to boot, and ten times slower than the machine itself.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { execa } from "execa";
import { lackOfProgram } from "../project/tools.ts";

/** Why no machine can be booted here; undefined: it can. */
export function lackOfMachine(): string | undefined {
  const lack = lackOfProgram("qemu-system-x86_64", "debootstrap", "mkfs.ext4");
  const why = lack ?? (process.getuid?.() === 0 ? undefined : "its disk is made as root");
  return why && `needs a running systemd (${why})`;
}

const packages = [
  "systemd,systemd-sysv,dbus,udev,procps,sudo,curl,linux-image-cloud-amd64",
  // What the Debian package of Windlass recommends.
  "bubblewrap,ca-certificates,git,openssh-client",
];

/** A shell on the serial console, which does not repeat what it reads. */
const shell = `[Unit]
After=multi-user.target
[Service]
ExecStart=/bin/sh -c 'stty -echo -onlcr; unset INVOCATION_ID; echo; echo the machine is up; exec /bin/sh'
Environment=HOME=/root PS1= PS2= PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
StandardInput=tty-force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
Restart=always
[Install]
WantedBy=multi-user.target
`;
const network = "[Match]\nName=e*\n[Network]\nDHCP=ipv4\n";

/**
 * Makes a disk with these files, named by their paths there. The Debian that it is made from stays
 * in `folder`, because to fetch it takes longer than all else.
 */
export async function makeDisk(
  folder: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const tree = join(folder, "tree");
  if (!existsSync(tree)) {
    mkdirSync(folder, { recursive: true });
    rmSync(`${tree}.new`, { recursive: true, force: true });
    const include = `--include=${packages.join(",")}`;
    await execa("debootstrap", ["--variant=minbase", include, "bookworm", `${tree}.new`]);
    renameSync(`${tree}.new`, tree);
  }
  const write = (path: string, text: string): void => writeFileSync(join(tree, path), text);
  write("etc/systemd/system/commands.service", shell);
  write("etc/systemd/network/all.network", network);
  write("etc/fstab", "/dev/vda / ext4 defaults 0 1\n");
  write("etc/hostname", "machine\n");
  write("etc/hosts", "127.0.0.1 localhost machine\n");
  const root = `--root=${tree}`;
  await execa("systemctl", [root, "enable", "commands", "systemd-networkd"]);
  await execa("systemctl", [root, "mask", "serial-getty@ttyS0"]);
  for (const [path, from] of Object.entries(files)) {
    rmSync(join(tree, path), { recursive: true, force: true });
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    cpSync(from, join(tree, path), { recursive: true });
  }
  const disk = join(folder, "disk.img");
  rmSync(disk, { force: true });
  await execa("mkfs.ext4", ["-q", "-d", tree, disk, "4G"]);
}

export class VirtualMachine {
  readonly #folder: string;
  readonly #port: number;
  #process: ChildProcess | undefined;
  #output = "";
  #commands = 0;
  #changed = Promise.withResolvers<void>();

  /** `port` of 127.0.0.1 leads to the same port of the machine, which reaches nothing outside. */
  constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  /** Switches it on and waits until it is up. */
  async boot(): Promise<void> {
    const boot = join(this.#folder, "tree/boot");
    const file = (prefix: string): string =>
      join(boot, readdirSync(boot).find((name) => name.startsWith(prefix)) ?? prefix);
    const forwarded = `hostfwd=tcp:127.0.0.1:${this.#port}-:${this.#port}`;
    this.#output = "";
    this.#process = spawn(
      "qemu-system-x86_64",
      [
        ["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2048"],
        ["-nographic", "-no-reboot", "-kernel", file("vmlinuz"), "-initrd", file("initrd")],
        ["-append", "console=ttyS0 root=/dev/vda rw quiet loglevel=1"],
        ["-drive", `file=${join(this.#folder, "disk.img")},format=raw,if=virtio`],
        ["-netdev", `user,id=net,restrict=on,${forwarded}`],
        ["-device", "virtio-net-pci,netdev=net"],
      ].flat(),
      { stdio: ["pipe", "pipe", "inherit"] },
    );
    const add = (text: string): void => {
      this.#output += stripVTControlCharacters(text).replaceAll("\r", "");
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    };
    this.#process.stdout?.setEncoding("utf8").on("data", add);
    void once(this.#process, "exit").then(() => add("\nthe machine is off\n"));
    await this.#find(/^the machine is up$/m);
  }

  /** Executes a command as root. Returns what it printed; throws if it fails. */
  async run(command: string): Promise<string> {
    const mark = `command ${++this.#commands} ended with`;
    this.#output = "";
    this.#process?.stdin?.write(
      `{\n${command}\n} </dev/null 2>&1; printf '\\n${mark} %s\\n' "$?"\n`,
    );
    const { 1: code, index } = await this.#find(new RegExp(`^${mark} (\\d+)$`, "m"));
    const printed = this.#output.slice(0, index).trim();
    process.stderr.write(`# ${command}\n${printed}\n`);
    if (code !== "0") throw new Error(`exit code ${code} of ${command}:\n${printed}`);
    return printed;
  }

  /** Shuts it down in order, as before a reboot. */
  async shutDown(): Promise<void> {
    this.#process?.stdin?.write("systemctl poweroff\n");
    await this.#find(/^the machine is off$/m);
  }

  /** What has not reached the disk is lost. */
  async pullThePlug(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#find(/^the machine is off$/m);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOn) await this.pullThePlug();
  }

  get #isOn(): boolean {
    return this.#process?.exitCode === null && this.#process.signalCode === null;
  }

  async #find(text: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = text.exec(this.#output);
      if (found) return found;
      if (!this.#isOn) throw new Error(`the machine is off; its console:\n${this.#output}`);
      await this.#changed.promise;
    }
  }
}
