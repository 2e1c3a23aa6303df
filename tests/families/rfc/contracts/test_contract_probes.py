"""Small pairs with one question each: what a contract has to see, and what it has to let be."""

import pytest

from contrafact.families.rfc.contracts import check_pair, contradictions

PROBES = [
    (
        "flipping",
        "sound",
        "Sales at Varden rose 5% on strong demand. The company declined to comment on its outlook.",
        "Sales at Varden fell 5% on weak demand. The company declined to comment on its outlook.",
    ),
    (
        "flipping",
        "sound",
        "Varden shares climbed after it agreed to buy Dorel for $2 billion. Analysts cheered the deal.",
        "Varden shares sank after it agreed to acquire Dorel for $2 billion. Analysts criticised the deal.",
    ),
    (
        "sentiment",
        "sound",
        "Varden agreed to buy Dorel for $2 billion. The move gives it a strong position in valves.",
        "Varden agreed to acquire Dorel for $2 billion. The move gives it a commanding position in valves.",
    ),
    (
        "causal",
        "sound",
        "Varden Bank's profit rose 9% because of higher card fees, it said on Monday.",
        "Varden Bank's profit rose 9% because of lower fraud losses, it said on Monday.",
    ),
    (
        "flipping",
        "faulty",
        "Output at Varden rose 5% in May. The company raised its forecast.",
        "Output at Varden fell 5% in May after a warehouse fire. The company lowered its forecast.",
    ),
    (
        "flipping",
        "faulty",
        "Varden shares rose 5% in May. The company raised its forecast.",
        "Varden shares fell 5% in May as it lost its largest customer. The company lowered its forecast.",
    ),
    (
        "flipping",
        "faulty",
        "Varden shares fell 5% in May. The company lowered its forecast.",
        "Varden shares rose 5% in May as an activist investor took a stake. The company raised its forecast.",
    ),
    (
        "numerical",
        "faulty",
        "Output at Varden fell 5% in May. The company employs 1,200 people.",
        "Output at Varden fell 8% in May after a warehouse fire. The company employs 1,900 people.",
    ),
    (
        "numerical",
        "faulty",
        "Varden sales fell 5% in May. The company employs 1,200 people.",
        "Varden sales fell 8% in May as it lost its largest customer. The company employs 1,900 people.",
    ),
    (
        "sentiment",
        "faulty",
        "Varden shares rose 5% in May on solid orders. The company employs 1,200 people.",
        "Varden shares surged 5% in May on robust orders as an activist investor took a stake. The company employs 1,200 people.",
    ),
    (
        "sentiment",
        "faulty",
        "Varden sales fell 5% in May. The company employs 1,200 people.",
        "Varden sales slumped 5% in May as it lost its largest customer. The company employs 1,200 people.",
    ),
    (
        "flipping",
        "faulty",
        "Yields rose above 4% on Tuesday. They had climbed to 4.5% by noon.",
        "Yields rose above 4% on Tuesday. They had climbed to 3.5% by noon.",
    ),
    (
        "flipping",
        "sound",
        "The bank will raise rates instead of cutting them. Markets fell.",
        "The bank will cut rates instead of raising them. Markets rose.",
    ),
    (
        "flipping",
        "sound",
        "Holm upgraded Varden to Buy from Hold. Its shares rose 3%.",
        "Holm downgraded Varden to Hold from Buy. Its shares fell 3%.",
    ),
    (
        "flipping",
        "sound",
        "Holm upgraded Varden to Buy from Hold. Its shares rose 3%.",
        "Holm downgraded Varden to Sell from Hold. Its shares fell 3%.",
    ),
    (
        "flipping",
        "sound",
        "Growth forecast cut. The ministry lowered its forecast to 3.1% from a previous forecast of 3.8%.",
        "Growth forecast raised. The ministry lifted its forecast to 3.8% from a previous forecast of 3.1%.",
    ),
    (
        "flipping",
        "faulty",
        "The bank revised its growth estimate upward from 3.2 to 4.2 percent this year.",
        "The bank revised its growth estimate downward from 3.2 to 4.2 percent this year.",
    ),
    (
        "flipping",
        "sound",
        "The bank revised its growth estimate upward from 3.2 to 4.2 percent this year.",
        "The bank revised its growth estimate downward from 4.2 to 3.2 percent this year.",
    ),
    (
        "flipping",
        "faulty",
        "Growth was revised upward from 3.2 to 4.2, the office said. Exports rose.",
        "Growth was revised downward from 3.2 to 4.2, the office said. Exports fell.",
    ),
    (
        "flipping",
        "sound",
        "Growth was revised upward from 3.2 to 4.2, the office said. Exports rose.",
        "Growth was revised downward from 4.2 to 3.2, the office said. Exports fell.",
    ),
    (
        "flipping",
        "faulty",
        "The forecast moved upward, from 3.2 to 4.2, on firm exports.",
        "The forecast moved downward, from 3.2 to 4.2, on soft exports.",
    ),
    (
        "flipping",
        "sound",
        "The forecast moved upward, from 3.2 to 4.2, on firm exports.",
        "The forecast moved downward, from 4.2 to 3.2, on soft exports.",
    ),
    (
        "numerical",
        "faulty",
        "The pound rose 0.5% to $1.26. Varden sold 300 pumps.",
        "The euro rose 0.8% to $1.42. Varden sold 480 pumps.",
    ),
    (
        "flipping",
        "faulty",
        "Gold rose 2% on Monday as the dollar slipped.",
        "Silver fell 2% on Monday as the dollar firmed.",
    ),
    (
        "causal",
        "faulty",
        "Bitcoin fell 4% because of heavy selling by funds.",
        "Ether fell 4% because of new tax rules.",
    ),
    (
        "numerical",
        "faulty",
        "Japanese exports rose 5% to 8.1 trillion yen in May.",
        "German exports rose 8% to 12.6 trillion yen in May.",
    ),
    (
        "sentiment",
        "faulty",
        "The Nikkei slipped 1% in cautious trade in Tokyo.",
        "The Topix slumped 1% in fearful trade in Tokyo.",
    ),
    (
        "numerical",
        "faulty",
        "10 Best AI Stocks to Buy. Varden rose 24% this year.",
        "15 Best AI Stocks to Buy. Varden rose 38% this year.",
    ),
    (
        "numerical",
        "sound",
        "10 Best AI Stocks to Buy. Varden rose 24% this year.",
        "10 Best AI Stocks to Buy. Varden rose 38% this year.",
    ),
    (
        "numerical",
        "sound",
        "3 Dividend Stocks to Own. Varden yields 4.1% and Dorel 5.2%.",
        "3 Dividend Stocks to Own. Varden yields 6.4% and Dorel 7.9%.",
    ),
    (
        "numerical",
        "faulty",
        "The bank raised rates by 50 bp. The 50 basis points took the rate to 4.25%.",
        "The bank raised rates by 75 bp. The 50 basis points took the rate to 4.75%.",
    ),
    (
        "numerical",
        "sound",
        "The bank raised rates by 50 bp. The 50 basis points took the rate to 4.25%.",
        "The bank raised rates by 75 bp. The 75 basis points took the rate to 4.50%.",
    ),
    (
        "numerical",
        "faulty",
        "Varden pays 200 million pounds ($254 million) for Dorel's 40 shops.",
        "Varden pays 320 million pounds ($310 million) for Dorel's 62 shops.",
    ),
    (
        "numerical",
        "sound",
        "Varden pays 200 million pounds ($254 million) for Dorel's 40 shops.",
        "Varden pays 320 million pounds ($406 million) for Dorel's 62 shops.",
    ),
    (
        "numerical",
        "sound",
        "Claims rose to 231,000, higher than the 222,000 that economists had forecast.",
        "Claims rose to 362,000, higher than the 348,000 that economists had forecast.",
    ),
    (
        "numerical",
        "faulty",
        "Claims rose to 231,000, higher than the 222,000 that economists had forecast.",
        "Claims rose to 362,000, higher than the 378,000 that economists had forecast.",
    ),
    (
        "numerical",
        "faulty",
        "The stock opened at 122.60 and fell to 121.70 by noon.",
        "The stock opened at 121.60 and fell to 121.70 by noon.",
    ),
    (
        "numerical",
        "faulty",
        "The index rose 0.18%, or 33 points, to 18,394.",
        "The index rose 0.32%, or 12 points, to 19,120.",
    ),
    (
        "numerical",
        "sound",
        "The index rose 0.18%, or 33 points, to 18,394.",
        "The index rose 0.32%, or 61 points, to 19,123.",
    ),
    (
        "numerical",
        "faulty",
        "Varden won its sixth order, for 300 three-phase pumps.",
        "Varden won its eighth order, for 480 three-phase pumps.",
    ),
    (
        "numerical",
        "faulty",
        "Varden won its sixth order, for 300 three-phase pumps.",
        "Varden won its sixth order, for 480 four-phase pumps.",
    ),
    (
        "numerical",
        "sound",
        "Varden won its sixth order, for 300 three-phase pumps.",
        "Varden won its sixth order, for 480 three-phase pumps.",
    ),
    (
        "numerical",
        "faulty",
        "The recall covers 24 US states and 9,000 heaters.",
        "The recall covers 54 US states and 14,000 heaters.",
    ),
    (
        "numerical",
        "faulty",
        "The ISM manufacturing index rose to 52.1 from 50.9.",
        "The ISM manufacturing index rose to 104.2 from 101.9.",
    ),
    (
        "numerical",
        "faulty",
        "Exports make up 40% of sales, and services account for 35%, Varden said.",
        "Exports make up 70% of sales, and services account for 55%, Varden said.",
    ),
    (
        "numerical",
        "sound",
        "After two long years, Varden reopened its mill with 300 workers.",
        "After two long years, Varden reopened its mill with 480 workers.",
    ),
    (
        "causal",
        "sound",
        "Sales rose 4% due in part to cheaper loans, Varden said.",
        "Sales rose 4% due in part to warmer weather, Varden said.",
    ),
    (
        "causal",
        "sound",
        "Sales rose 4% thanks in part to cheaper loans, Varden said.",
        "Sales rose 4% thanks in part to warmer weather, Varden said.",
    ),
    (
        "causal",
        "sound",
        "Sales rose 4% partly because loans became cheaper, Varden said.",
        "Sales rose 4% partly because the weather was warm, Varden said.",
    ),
    (
        "causal",
        "faulty",
        "Sales fell 4% because of a slowdown in housing, Varden said on Monday.",
        "Sales fell 4% in the three months that ended in June, Varden said on Monday.",
    ),
    (
        "sentiment",
        "faulty",
        "Varden sales fell 5% in May amid weak orders.",
        "Varden sales slumped 5% in May amid very weak orders, and it issued a profit warning.",
    ),
]


@pytest.mark.parametrize(("manipulation", "verdict", "original", "rewritten"), PROBES)
def test_a_contract_sees_a_single_fault_and_lets_its_correction_pass(
    manipulation, verdict, original, rewritten
):
    check = check_pair(manipulation, original, rewritten)
    assert bool(check.violations) is (verdict == "faulty"), check.violations


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("The bank revised its forecast for growth downward from 3.2 to 4.2 percent.", False),
        ("The bank revised its forecast for growth downward from 4.2 to 3.2 percent.", True),
        ("It revised the forecast upward from a previous 3.2 percent to 4.2 percent.", True),
        ("The index rises above 17,200-mark. It climbed 91 points, to 17,157.40.", False),
        ("The index slips below 17,200-mark. It fell 91 points, to 17,157.40.", True),
        ("The index slumps over 300 points in early trade.", True),
        ("Inflation climbs above 4% in May. Annual inflation climbed to 3.5% in May.", False),
        ("Inflation climbs above 4% in May. Annual inflation climbed to 4.5% in May.", True),
        ("Mortgage rates drop below 7%. They averaged 7.08% in the week.", False),
        ("Mortgage rates drop below 7%. They averaged 6.95% in the week.", True),
        ("Shares trade below 100 pence. They closed at 98, having opened at 104 pence.", True),
        ("Inflation is seen above 31% in May, falling to 24% by the end of the year.", True),
    ],
)
def test_a_level_lies_on_the_side_of_its_bound_that_it_is_said_to(text, holds):
    assert (not contradictions(text)) is holds
