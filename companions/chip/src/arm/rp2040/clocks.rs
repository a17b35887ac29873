//! Clock sources and resets (data sheet, 2.14 to 2.18 and 4.7.2). Oscillators and PLLs are stable at once.

use std::collections::BTreeMap;

use crate::log::{FindingKind, Log};

/// The crystal of the boards (data sheet, 2.16).
const CRYSTAL: u64 = 12_000_000;

const REF_CTRL: u32 = 0x4000_8030;
const REF_DIV: u32 = 0x4000_8034;
const SYS_CTRL: u32 = 0x4000_803c;
const SYS_DIV: u32 = 0x4000_8040;
const PERI_CTRL: u32 = 0x4000_8048;
const RESET: u32 = 0x4000_c000;
const PLL_SYS: u32 = 0x4002_8000;
const PLL_USB: u32 = 0x4002_c000;
const TICK: u32 = 0x4005_802c;

/// A frequency in Hz, as a fraction.
type Frequency = Option<(u64, u64)>;

/// Registers of clocks, resets, oscillators, PLLs, and of the watchdog's tick.
#[derive(Debug, Clone)]
pub struct Clocks {
    /// The processor's clock in Hz, in which all cycles are counted.
    pub hz: u32,
    /// True if code was fetched from flash.
    pub runs_from_flash: bool,
    registers: BTreeMap<u32, u32>,
}

impl Clocks {
    pub fn new(hz: u32) -> Self {
        // State in which the ROM leaves it: all in reset but the flash's pins, the PLLs off, the tick enabled
        // without a length.
        let at_reset = [
            (RESET, 0x01ff_fdbf),
            (REF_DIV, 0x100),
            (SYS_DIV, 0x100),
            (PLL_SYS, 1),
            (PLL_SYS + 4, 0x2d),
            (PLL_SYS + 12, 0x7_7000),
            (PLL_USB, 1),
            (PLL_USB + 4, 0x2d),
            (PLL_USB + 12, 0x7_7000),
            (TICK, 0x200),
        ];
        Clocks { hz, runs_from_flash: false, registers: at_reset.into_iter().collect() }
    }

    fn register(&self, address: u32) -> u32 {
        self.registers.get(&address).copied().unwrap_or_default()
    }

    /// True if a peripheral is in reset, so that writes to it are lost.
    pub fn is_in_reset(&self, base: u32) -> bool {
        let bit = match base {
            0x4001_4000 => 5,
            0x4001_c000 => 8,
            0x4005_4000 => 21,
            0x5020_0000 => 10,
            0x5030_0000 => 11,
            0x4005_0000 => 14,
            0x4003_4000 => 22,
            0x4003_8000 => 23,
            _ => return false,
        };
        self.register(RESET) >> bit & 1 != 0
    }

    pub fn read(&self, address: u32) -> u32 {
        match address {
            0x4000_c008 => !self.register(RESET) & 0x01ff_ffff,
            // The selected source: one bit, at once.
            0x4000_8038 => 1 << (self.register(REF_CTRL) & 3),
            0x4000_8044 => 1 << (self.register(SYS_CTRL) & 1),
            0x4000_8008 | 0x4000_8014 | 0x4000_8020 | 0x4000_802c | 0x4000_8050 | 0x4000_805c
            | 0x4000_8068 | 0x4000_8074 => 1,
            // Frequency counter: done.
            0x4000_8098 => 1 << 4,
            // Crystal and ring oscillator: enabled and stable.
            0x4002_4004 | 0x4006_0018 => 1 << 31 | 1 << 12,
            PLL_SYS | PLL_USB => {
                self.register(address) | u32::from(self.register(address + 4) & 0x21 == 0) << 31
            }
            TICK => self.register(TICK) & 0x3ff | (self.register(TICK) & 0x200) << 1,
            _ => self.register(address),
        }
    }

    pub fn write(&mut self, address: u32, value: u32) {
        self.registers.insert(address, value);
    }

    /// Output of a PLL; `None` while it is off.
    fn pll_frequency(&self, base: u32) -> Frequency {
        let primary = self.register(base + 12);
        let divisor = u64::from(self.register(base) & 0x3f)
            * u64::from(primary >> 16 & 7)
            * u64::from(primary >> 12 & 7);
        let runs = self.register(base + 4) & 0x21 == 0 && divisor != 0;
        runs.then(|| (CRYSTAL * u64::from(self.register(base + 8) & 0xfff), divisor))
    }

    /// Reference clock; `None` for the ring oscillator, whose frequency is unknown.
    fn reference_frequency(&self) -> Frequency {
        let source = match self.register(REF_CTRL) & 0x63 {
            0x01 => self.pll_frequency(PLL_USB),
            2 | 0x22 | 0x42 | 0x62 => Some((CRYSTAL, 1)),
            _ => None,
        };
        let divisor = u64::from(self.register(REF_DIV) >> 8 & 3);
        source.filter(|_| divisor != 0).map(|(over, under)| (over, under * divisor))
    }

    /// The processor's clock; `None` if it comes from the ring oscillator.
    fn system_frequency(&self) -> Frequency {
        let control = self.register(SYS_CTRL);
        let source = match (control & 1, control >> 5 & 7) {
            (0, _) => self.reference_frequency(),
            (_, 0) => self.pll_frequency(PLL_SYS),
            (_, 1) => self.pll_frequency(PLL_USB),
            (_, 3) => Some((CRYSTAL, 1)),
            _ => None,
        };
        // 24 bits of whole, 8 of fraction.
        let divisor = u64::from(self.register(SYS_DIV)).max(1);
        source.map(|(over, under)| (over * 256, under * divisor))
    }

    /// The processor's clock as set by the firmware, rounded to Hz; `None` on the ring oscillator.
    pub fn processor_hz(&self) -> Option<u32> {
        self.system_frequency()
            .and_then(|(over, under)| u32::try_from((over + under / 2) / under).ok())
            .filter(|hz| *hz > 0)
    }

    /// Clock of serial ports in Hz; the processor's if it is unknown.
    pub fn peripheral_hz(&self) -> u64 {
        let from = match self.register(PERI_CTRL) >> 5 & 7 {
            1 => self.pll_frequency(PLL_SYS),
            2 => self.pll_frequency(PLL_USB),
            4 => Some((CRYSTAL, 1)),
            _ => None,
        };
        from.map_or(u64::from(self.hz), |(over, under)| over / under)
    }

    /// Length of a tick of the timer in processor cycles, as a fraction; `None` while it is stopped.
    /// With the ring oscillator the tick is assumed to be right.
    pub fn cycles_per_tick(&self) -> Option<(u64, u64)> {
        let tick = self.register(TICK);
        let cycles = u64::from(tick & 0x1ff);
        if tick & 0x200 == 0 || cycles == 0 {
            return None;
        }
        match self.reference_frequency() {
            Some((over, under)) => Some((u64::from(self.hz) * cycles * under, over)),
            None => Some((u64::from(self.hz), 1_000_000)),
        }
    }

    /// Reports that the counted time may be wrong: code in flash, or another clock than the simulated one.
    pub fn report_clock_findings(&self, log: &mut Log) {
        if self.runs_from_flash {
            log.report_finding(FindingKind::FlashAssumedFast, 0, 0);
        }
        let set = self.processor_hz();
        if set != Some(self.hz) {
            log.report_finding(FindingKind::ClockDiffers(set), 0, 0);
        }
    }
}
